import { randomInt } from 'node:crypto'
import { kindsNamed } from './attacks/attack.ts'
import { runChaos } from './chaos.ts'
import { readOptions, usage } from './options.ts'
import { describe } from './report.ts'

const { isHelp, engine, isSynchronous, words, seed, ...numbers } = readOptions(
  process.argv.slice(2),
  randomInt(2 ** 31),
)
if (isHelp) {
  console.log(usage)
  process.exit(0)
}
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())
console.log(`chaos with seed ${seed}`)
const report = await runChaos({
  ...numbers,
  seed,
  engine,
  isSynchronous,
  kinds: kindsNamed(engine, isSynchronous, words),
  tell: (text) => console.error(text),
  signal: interrupted.signal,
}).catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})
console.log(describe(report))
for (const violation of report.findings.violations.slice(0, 50)) console.error(violation)
// A connection left in a black hole would keep the process alive.
process.exit(report.findings.violations.length === 0 ? 0 : 1)
