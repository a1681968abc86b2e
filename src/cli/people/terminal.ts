import type { WriteStream } from 'node:tty'
import { styleText } from 'node:util'
import type { PeopleConfig } from '../../config.ts'

type Style = 'bold' | 'dim' | 'red' | 'green' | 'yellow'

/** One of the two streams, looked at by itself. */
export type Face = Readonly<{
  isTerminal: boolean
  stream: NodeJS.WriteStream
  columns: number
  rows: number
  style: (style: Style, text: string) => string
}>

/** stdout is data, stderr is talk. */
export type Terminal = Readonly<{
  out: Face
  err: Face
  isQuiet: boolean
  showsProgress: boolean
  canAsk: boolean
  pager: string
  /** A line of talk, which --quiet leaves out. */
  say: (text: string) => void
}>

export function openTerminal(values: Readonly<Record<string, unknown>>, config: PeopleConfig): Terminal {
  const isPlain = config.isPlain || values['no-color'] === true
  const out = faceOf(process.stdout, isPlain)
  const err = faceOf(process.stderr, isPlain)
  const isQuiet = values.quiet === true
  return {
    out,
    err,
    isQuiet,
    showsProgress: !isQuiet && values['no-progress'] !== true,
    canAsk: process.stdin.isTTY === true && err.isTerminal,
    pager: config.pager,
    say: (text) => {
      if (!isQuiet) err.stream.write(`${text}\n`)
    },
  }
}

function faceOf(stream: WriteStream, isPlain: boolean): Face {
  const isTerminal = stream.isTTY === true
  return {
    isTerminal,
    stream,
    // A window may become larger while one looks.
    get columns() {
      return stream.columns || 80
    },
    get rows() {
      return stream.rows || 24
    },
    style: (style, text) => (isTerminal && !isPlain ? styleText(style, text) : text),
  }
}

/** What came from elsewhere must not steer the terminal. */
export const printable = (text: string) =>
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
  text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, (character) =>
    character === '\t' ? '  ' : `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`,
  )
