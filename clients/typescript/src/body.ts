/** How a request is sent: as JSON, or as multipart/form-data when a file is given as bytes. */
import type { TaskFile, TaskRequest } from "./types.js";

/** An input for a request from bytes, or from text (sent as UTF-8). */
export function inputFile(name: string, content: Uint8Array | string): { name: string; content: string } {
  return { name, content: base64(typeof content === "string" ? new TextEncoder().encode(content) : content) };
}

const STEP = 0x6000; // a multiple of 3, and few enough to be arguments

function base64(bytes: Uint8Array): string {
  const parts: string[] = [];
  for (let at = 0; at < bytes.length; at += STEP) {
    parts.push(btoa(String.fromCharCode(...bytes.subarray(at, at + STEP))));
  }
  return parts.join("");
}

function bytesOf(file: TaskFile): Uint8Array | Blob {
  if (typeof file.content !== "string") return file.content;
  let binary: string;
  try {
    binary = atob(file.content);
  } catch {
    throw new TypeError("files: the content of a file is text that is not base64 (see inputFile)");
  }
  return Uint8Array.from(binary, (c) => c.charCodeAt(0));
}

/** RFC 8187: nothing that is left can end a quoted string or a line. */
function extended(name: string): string {
  let escaped: string;
  try {
    escaped = encodeURIComponent(name);
  } catch {
    throw new TypeError("files: a name is not well-formed Unicode");
  }
  return "UTF-8''" + escaped.replace(/['()*!~]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase());
}

function boundary(): string {
  let text = "mayfly-";
  while (text.length < 40) text += Math.random().toString(36).slice(2);
  return text.slice(0, 40);
}

function multipart(request: TaskRequest, files: TaskFile[]): { type: string; body: Blob } {
  const mark = boundary();
  const head = (lines: string) => `--${mark}\r\nContent-Disposition: form-data; ${lines}\r\n\r\n`;
  const { files: _, ...rest } = request;
  const parts: (string | Uint8Array | Blob)[] = [
    head('name="request"\r\nContent-Type: application/json'), JSON.stringify(rest), "\r\n",
  ];
  for (const file of files) {
    const named = `name="files"; filename*=${extended(file.name)}`;
    parts.push(head(`${named}\r\nContent-Type: application/octet-stream`), bytesOf(file), "\r\n");
  }
  parts.push(`--${mark}--\r\n`);
  return { type: `multipart/form-data; boundary=${mark}`, body: new Blob(parts as BlobPart[]) };
}

export function bodyOf(request: TaskRequest): { type: string; body: string | Blob } {
  const files = request.files ?? [];
  if (files.some((f) => typeof f.content === "object" && f.content !== null)) return multipart(request, files);
  return { type: "application/json", body: JSON.stringify(request) };
}
