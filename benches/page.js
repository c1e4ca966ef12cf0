// The measurements in a browser. `cargo xtask bench` opens page.html and calls what stands on `window.bench`.

import init, { ChatRows } from "/chatrows/chatrows.js";
import { createParser } from "/eventsource-parser/index.js";
import { coldSample, measure } from "./measure.js";

if (!crossOriginIsolated) throw new Error("the page is not isolated: its clock is too coarse to measure with");

window.bench = {
  async warm(options) {
    await init();
    return measure({ ChatRows, createParser }, options);
  },
  async cold(side) {
    const response = await fetch("/chatrows/chatrows_bg.wasm");
    const module = await response.arrayBuffer();
    return coldSample(side, { startModule: () => init({ module_or_path: module }), ChatRows, createParser });
  },
};
