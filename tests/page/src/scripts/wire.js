async function wire(title) {
  const { recordings } = await import(new URL("recordings.js", location).href);
  const recording = recordings.find((other) => other.title === title);
  const bytes = new Uint8Array(await new Blob(recording.pieces().map(([, piece]) => piece)).arrayBuffer());
  const said = { ask: recording.ask, texts: [], reasoning: "", calls: [], usage: null };
  for (const line of new TextDecoder().decode(bytes).split(/\r\n|\r|\n/)) {
    let record;
    try {
      record = JSON.parse(line.slice("data: ".length));
    } catch {
      continue;
    }
    said.usage = record.usage ?? said.usage;
    for (const { index, delta } of record.choices ?? []) {
      said.texts[index] = (said.texts[index] ?? "") + (delta.content ?? "");
      said.reasoning += delta.reasoning_content ?? "";
      for (const part of delta.tool_calls ?? []) {
        const call = (said.calls[part.index] ??= ["", ""]);
        call[0] += part.function.name ?? "";
        call[1] += part.function.arguments ?? "";
      }
    }
  }
  return said;
}
