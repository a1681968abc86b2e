import { explainError, talk } from './cli/operator/explain-error.ts'
import { unknownVariables } from './config/config.ts'
import type { ServiceParts } from './service/service.ts'

/** Runs `cartage` with these arguments; returns the exit code. */
export async function main(args: readonly string[]): Promise<number> {
  const parts = partsOf(args)
  // First of all: the first process of a container does not even die of a signal without a handler.
  const signal = parts && toldToStop()
  const unknown = unknownVariables()
  if (unknown.length > 0) talk(`unknown variables, ignored: ${unknown.join(', ')}`)
  try {
    // Neither loads the code of the other.
    if (!parts || !signal) return await (await import('./cli/operator/main.ts')).runCommandLine(args)
    await (await import('./service/serve.ts')).serve(parts, signal)
    return 0
  } catch (error) {
    const sentence = explainError(error)
    if (sentence === undefined) throw error
    talk(sentence)
    return 1
  }
}

/** `cartage serve` and `cartage worker` run until they are stopped; everything else is a command. */
function partsOf([command, ...options]: readonly string[]): Partial<ServiceParts> | undefined {
  if (command === 'worker' && options.length === 0) return { http: false, worker: true }
  if (command !== 'serve') return undefined
  if (options.length === 0) return {}
  return options.length === 1 && options[0] === '--no-worker' ? { worker: false } : undefined
}

/** Under npm one Ctrl-C arrives twice, from the terminal and from npm: the second must not kill us half-way. */
function toldToStop(): AbortSignal {
  const told = new AbortController()
  for (const name of ['SIGINT', 'SIGTERM'] as const) process.on(name, () => told.abort())
  return told.signal
}
