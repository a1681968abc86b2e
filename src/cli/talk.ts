import { printable } from './printable.ts'

/** Standard output is for data; what is said to the person beside it goes here. */
export function talk(text: string): void {
  process.stderr.write(`cartage: ${printable(text)}\n`)
}
