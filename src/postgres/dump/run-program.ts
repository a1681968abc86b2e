import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { errors } from '../../errors.ts'

export type PostgresProgram = Readonly<{
  path: string
  args: readonly string[]
  env: NodeJS.ProcessEnv
  signal: AbortSignal
}>

/** Runs a program and returns what it printed. Fails with its own words. */
export async function runProgram(program: PostgresProgram): Promise<string> {
  const child = start(program, ['ignore', 'pipe'])
  const printed: Buffer[] = []
  child.stdout!.on('data', (chunk: Buffer) => printed.push(chunk))
  await ended(child, program)
  return Buffer.concat(printed).toString('utf8')
}

/** What `from` writes, `to` reads. */
export async function pipePrograms(
  from: PostgresProgram,
  to: PostgresProgram,
  onBytes: (count: number) => void,
): Promise<void> {
  const writer = start(from, ['ignore', 'pipe'])
  const reader = start(to, ['pipe', 'ignore'])
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      onBytes(chunk.length)
      done(null, chunk)
    },
  })
  // Its error is that of the program which has closed its end.
  const flow = pipeline(writer.stdout!, counter, reader.stdin!).catch(() => undefined)
  const [read, written] = await Promise.allSettled([ended(reader, to), ended(writer, from), flow])
  // The one that failed first: the other has lost its end of the pipe.
  if (written.status === 'rejected' && !/broken pipe/i.test(String(written.reason))) throw written.reason
  if (read.status === 'rejected') throw read.reason
  if (written.status === 'rejected') throw written.reason
}

function start({ path, args, env, signal }: PostgresProgram, stdio: ('ignore' | 'pipe')[]): ChildProcess {
  return spawn(path, args, { env, signal, killSignal: 'SIGKILL', stdio: [...stdio, 'pipe'] })
}

async function ended(child: ChildProcess, { path, signal }: PostgresProgram): Promise<void> {
  let said = ''
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(0, longestWords)
  })
  const [code] = (await once(child, 'close').catch((error: unknown) => {
    throw signal.aborted ? signal.reason : error
  })) as [number | null]
  if (code === 0) return
  if (signal.aborted) throw signal.reason
  throw errors.moveFailed(`${path.split('/').at(-1)} failed: ${said.trim() || `exit ${code}`}`)
}

const longestWords = 2_000
