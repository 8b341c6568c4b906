/** Files: those for the browser's downloads, and those that were chosen. */

/** Hands a table to the downloads. */
export const saveText = (name: string, text: string): void =>
  save(name, new Blob([text], { type: 'text/csv;charset=utf-8' }));

/** Hands a file of any kind to the downloads. */
export const saveBytes = (name: string, bytes: Uint8Array<ArrayBuffer>): void =>
  save(name, new Blob([bytes], { type: 'application/octet-stream' }));

function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** The bytes of a chosen file in base64; undefined: none was chosen. */
export async function base64Of(file: File | undefined): Promise<string | undefined> {
  if (file === undefined) return undefined;
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const reader = new FileReader();
  reader.onload = () => resolve(String(reader.result));
  reader.onerror = () => reject(reader.error);
  reader.readAsDataURL(file);
  return (await promise).split(',')[1] ?? '';
}
