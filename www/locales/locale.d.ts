/** Interface text by key; `{gaps}` are filled from a message's `params`. */
declare const catalogue: { [key: string]: string };
export default catalogue;
