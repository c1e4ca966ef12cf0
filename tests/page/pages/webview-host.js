// The editor around the webview: its theme, and the way back. What the page posts is kept in `editor.posted`.
"use strict";
window.editor = { posted: [] };

window.acquireVsCodeApi = () => {
  if (window.editor.acquired) throw new Error("acquireVsCodeApi was called twice");
  window.editor.acquired = true;
  return { postMessage: (message) => void window.editor.posted.push(structuredClone(message)) };
};

for (const [name, value] of Object.entries({
  "editor-background": "#1f1f1f",
  "editor-foreground": "#cccccc",
  "sideBar-background": "#181818",
  descriptionForeground: "#9d9d9d",
  "button-background": "#0078d4",
  "button-foreground": "#ffffff",
  "editor-font-family": "monospace",
})) document.documentElement.style.setProperty(`--vscode-${name}`, value);
