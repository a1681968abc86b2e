import { type ChildProcessByStdio, type SpawnOptions, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'

export type PipedChild = ChildProcessByStdio<Writable, Readable, Readable>

/**
 * Starts a program with pipes for its input, output and errors. Throws if no descriptor is left for the pipes: Node
 * then makes a child without pipes, and its 'error' event would end this process. Other faults come as that event.
 */
export function spawnPiped(
  program: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'detached' | 'env'>,
): PipedChild {
  const child = spawn(program, args, { ...options, stdio: ['pipe', 'pipe', 'pipe'] })
  if ((child.stdin as Writable | undefined) !== undefined) return child
  child.once('error', () => undefined)
  throw new Error(`${program} cannot be started: too many open files`)
}
