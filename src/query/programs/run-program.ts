import type { Readable, Writable } from 'node:stream'
import { type PipedChild, spawnPiped } from '../../convert/spawn-piped.ts'
import { packageFile } from '../../files/package-file.ts'

/** Formats that a program of ours writes, from Arrow, GeoJSON and JSON. */
export const programFormats = ['parquet', 'topojson', 'arraybuffer'] as const
export type ProgramFormat = (typeof programFormats)[number]

export type FileProgram = Readonly<{
  /** Takes the rows. */
  stdin: Writable
  /** Gives the file. */
  stdout: Readable
  ended: Promise<ProgramEnd>
  kill: () => void
}>

/** `unfit`: a value that the format cannot hold. */
export type ProgramEnd = Readonly<{ isOk: boolean; unfit: string | undefined; stderr: string }>

/**
 * Starts the program that turns rows into a file. A process of its own: its work takes one core for as long as the rows come,
 * and its memory is not that of the service. It ends with its stdin.
 */
export function startProgram(format: ProgramFormat): FileProgram {
  const child = spawnPiped(process.execPath, ['--max-old-space-size=1024', programFile(format)], { env: {} })
  // Its end tells.
  child.stdin.on('error', () => undefined)
  return { stdin: child.stdin, stdout: child.stdout, ended: endOf(child), kill: () => child.kill('SIGKILL') }
}

const programFile = (format: ProgramFormat) =>
  import.meta.dirname.includes('/src/query/')
    ? packageFile(`src/query/programs/write-${format}.mjs`)
    : packageFile(`dist/query/programs/write-${format}.js`)

function endOf(child: PipedChild): Promise<ProgramEnd> {
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(0, maxStderr)
  })
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ isOk: false, unfit: undefined, stderr: String(error) }))
    child.once('close', (code) =>
      resolve({ isOk: code === 0, unfit: code === unfitCode ? stderr : undefined, stderr }),
    )
  })
}

const unfitCode = 3
const maxStderr = 4000
