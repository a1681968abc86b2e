import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { kindsNamed } from './attacks/attack.ts'
import { runChaos } from './chaos.ts'
import { describe } from './report.ts'

// node --import tsx chaos/run.ts [--seed N] [--kills N] [--seconds N] [--only WORD,WORD] [--users N] [--servers N] [--workers N]
//   [--jobs-per-user N] [--clients N] [--pause MS] [--stall MS]
const whole = { type: 'string' } as const
const { values } = parseArgs({
  options: {
    seed: whole,
    kills: whole,
    seconds: whole,
    users: whole,
    servers: whole,
    workers: whole,
    clients: whole,
    'jobs-per-user': whole,
    pause: whole,
    stall: whole,
    only: { type: 'string', default: '' },
  },
})
const number = (text: string | undefined, fallback: number) => (text === undefined ? fallback : Number(text))

const seed = number(values.seed, randomInt(2 ** 31))
const only = kindsNamed(values.only.split(',').filter((word) => word !== ''))
const interrupted = new AbortController()
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => interrupted.abort())
console.log(`chaos with seed ${seed}`)
const report = await runChaos({
  seed,
  kills: number(values.kills, 200),
  seconds: number(values.seconds, 3600),
  users: number(values.users, 6),
  servers: number(values.servers, 2),
  workers: number(values.workers, 3),
  clients: number(values.clients, 24),
  // Their order can be told where they run one by one.
  jobsPerUser: number(values['jobs-per-user'], 1 + (seed % 2)),
  pauseMs: number(values.pause, 400),
  longestStallMs: number(values.stall, 30_000),
  only,
  tell: (words) => console.error(words),
  signal: interrupted.signal,
}).catch((error: unknown) => {
  console.error(error)
  process.exit(1)
})
console.log(describe(report))
for (const violation of report.findings.violations.slice(0, 50)) console.error(violation)
// A connection that was left in a black hole would keep the process waiting.
process.exit(report.findings.violations.length === 0 ? 0 : 1)
