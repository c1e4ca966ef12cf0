// One frame of a page that shows a chat: from before what arrived is pushed to after the browser laid it out.
// Each chat is a page of a site of its own (chat.html), which is a process of its own, so that none pays for another's
// rows, nor for the garbage it leaves. Answers with raw samples in milliseconds; what they mean is for
// `cargo xtask bench` to say.

if (!crossOriginIsolated) throw new Error("the page is not isolated: its clock is too coarse to measure with");

/** Warm-up rounds come first and are not kept. */
const WARM_UP_ROUNDS = 3;

const CASES = [
  { name: "openai-last", format: "openai-chat", place: "last", small: 100, large: 10_000 },
  { name: "openai-middle", format: "openai-chat", place: "middle", small: 100, large: 10_000 },
  { name: "say-last", format: "say", place: "last", small: 5, large: 500 },
  { name: "say-middle", format: "say", place: "middle", small: 5, large: 500 },
];

/** Who draws; of the slow one fewer rounds are measured. */
const SIDES = [
  { name: "chatrows", share: 1 },
  { name: "text", share: 1 },
  { name: "list", share: 0.2 },
];
const SIZES = ["small", "large"];

/** Calls a function of the page in a frame, which is seen as long as it takes: a hidden one is drawn no frames. */
async function call(frame, name, argument) {
  frame.style.visibility = "visible";
  const { port1, port2 } = new MessageChannel();
  const answer = new Promise((resolve) => (port1.onmessage = ({ data }) => resolve(data)));
  frame.contentWindow.postMessage({ name, argument }, "*", [port2]);
  const { error, value } = await answer;
  frame.style.visibility = "hidden";
  if (error) throw new Error(error);
  return value;
}

async function open(site, options) {
  const frame = document.createElement("iframe");
  Object.assign(frame.style, { position: "fixed", inset: 0, border: 0, width: "800px", height: "600px" });
  frame.allow = "cross-origin-isolated";
  frame.src = `http://${site}.localhost:${location.port}/chat.html`;
  document.body.append(frame);
  await new Promise((resolve) => addEventListener("message", resolve, { once: true }));
  await call(frame, "build", options);
  return frame;
}

async function measureCase({ name, format, place, ...rows }, rounds) {
  const kept = (share) => Math.max(1, Math.round(rounds * share));
  const sides = [];
  for (const { name: side, share } of SIDES) {
    const frames = {};
    const longest = WARM_UP_ROUNDS + kept(share);
    for (const size of SIZES) frames[size] = await open(`${name}-${side}-${size}`, { side, format, place, rows: rows[size], rounds: longest });
    sides.push({ name: side, rounds: kept(share), frames, samples: { small: [], large: [] } });
  }
  for (let round = -WARM_UP_ROUNDS; round < rounds; round++) {
    for (const { rounds: kept, frames, samples } of sides) {
      if (round >= kept) continue;
      // Each goes first in every other round.
      for (const size of round & 1 ? SIZES.toReversed() : SIZES) {
        const times = await call(frames[size], "round", round + WARM_UP_ROUNDS);
        if (round >= 0) samples[size].push(...times);
      }
    }
  }
  for (const frame of sides.flatMap(({ frames }) => Object.values(frames))) {
    await call(frame, "check");
    frame.remove();
  }
  return { name, ...rows, sides: sides.map(({ name, samples }) => ({ name, ...samples })) };
}

window.bench = {
  async frame({ rounds }) {
    const cases = [];
    for (const each of CASES) cases.push(await measureCase(each, rounds));
    return cases;
  },
};
