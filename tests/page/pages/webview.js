import init, { ChatRows } from "/pkg/chatrows.js";
import { mountPanels, mountRows } from "/pkg/rows.js";

const editor = acquireVsCodeApi();
await init();
const chat = new ChatRows({ format: "say" });
mountPanels(document.querySelector("#panels"), chat);
const view = mountRows(document.querySelector("#log"), chat);
window.addEventListener("message", (event) => chat.pushMessage(event.data));

const respond = (askResponse, text) => editor.postMessage({ type: "askResponse", askResponse, text });
view.addEventListener("approve", () => respond("yesButtonClicked"));
view.addEventListener("reject", () => respond("noButtonClicked"));
view.addEventListener("retry", () => respond("yesButtonClicked"));
view.addEventListener("answer", ({ detail }) => respond("messageResponse", [detail.answer].flat().join("\n")));
view.addEventListener("open", ({ detail }) => editor.postMessage({ type: "openFile", text: detail.path }));
editor.postMessage({ type: "webviewDidLaunch" });
