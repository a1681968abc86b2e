import { type ChildProcessByStdio, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { packageFile } from '../../files/package-file.ts'

export type ParquetProgram = Readonly<{
  /** Takes an Arrow stream. */
  stdin: Writable
  /** Gives a Parquet file. */
  stdout: Readable
  ended: Promise<ProgramEnd>
  kill: () => void
}>

/** `unfit`: a value that Parquet cannot hold. */
export type ProgramEnd = Readonly<{ isOk: boolean; unfit: string | undefined; stderr: string }>

/**
 * Starts the program that turns Arrow into Parquet. A process of its own: its work takes one core for as long as the rows come,
 * and its memory is not that of the service. It ends with its stdin.
 */
export function startParquetProgram(): ParquetProgram {
  const child = spawn(process.execPath, ['--max-old-space-size=256', programFile()], {
    env: {},
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  // Its end tells.
  child.stdin.on('error', () => undefined)
  return { stdin: child.stdin, stdout: child.stdout, ended: endOf(child), kill: () => child.kill('SIGKILL') }
}

const programFile = () =>
  import.meta.dirname.includes('/src/query/')
    ? packageFile('src/query/parquet/write-parquet.mjs')
    : packageFile('dist/query/parquet/write-parquet.js')

function endOf(child: ChildProcessByStdio<Writable, Readable, Readable>): Promise<ProgramEnd> {
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
