const [name, content] = arguments;
const dataTransfer = new DataTransfer();
dataTransfer.items.add(new File([content], name));
for (const type of ["dragenter", "dragover", "drop"]) {
  const event = new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true });
  const taken = !document.querySelector("#log").dispatchEvent(event);
  // A browser drops only where the page has said that it takes what is dragged.
  if (type === "dragover" && !taken) throw new Error("the page takes no files");
}
