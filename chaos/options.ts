import { parseArgs } from 'node:util'
import { engineNames } from './engine.ts'

export const usage = `npm run chaos -- [OPTION...]
npm run chaos -- tiles [--steps N] [--seed N]
                           10000 changes beside requests for tiles, through two processes

  --engine postgres        two PostgreSQL servers, the second with a replica (default)
  --engine patroni         three PostgreSQL servers under Patroni, etcd and HAProxy, from Debian's packages
  --replication KIND       of the second host: synchronous or asynchronous (default: by the seed)
  --seed N                 the same seed gives the same load and attacks (default: random)
  --seconds N              time of the attacks (3600)
  --kills N                number of attacks (200)
  --only WORD,WORD         only the attacks whose names hold one of the words
  --pause MS               mean time between two attacks (400; patroni 2000)
  --stall MS               longest stop of all of a PostgreSQL (30000)
  --users N --servers N --workers N --clients N --jobs-per-user N
                           6 users, 2 servers, 3 workers, 24 jobs on their way, 1 or 2 at once by the seed

Everything that it starts lies in one folder below the folder for temporary files, and is removed at the end.`

const text = { type: 'string' } as const

export function readOptions(args: readonly string[], randomSeed: number) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      engine: { ...text, default: 'postgres' },
      replication: text,
      seed: text,
      kills: text,
      seconds: text,
      users: text,
      servers: text,
      workers: text,
      clients: text,
      'jobs-per-user': text,
      pause: text,
      stall: text,
      only: { ...text, default: '' },
      help: { type: 'boolean', default: false },
    },
  })
  const engine = oneOf('engine', values.engine, engineNames)
  const seed = number(values.seed, randomSeed)
  const bySeed = Math.floor(seed / 2) % 2 === 0 ? 'asynchronous' : 'synchronous'
  const replication = oneOf('replication', values.replication ?? bySeed, ['synchronous', 'asynchronous'])
  return {
    isHelp: values.help,
    engine,
    isSynchronous: engine === 'postgres' && replication === 'synchronous',
    words: values.only.split(',').filter((word) => word !== ''),
    seed,
    kills: number(values.kills, 200),
    seconds: number(values.seconds, 3600),
    users: number(values.users, 6),
    servers: number(values.servers, 2),
    workers: number(values.workers, 3),
    clients: number(values.clients, 24),
    // Their order is known only if they run one by one.
    jobsPerUser: number(values['jobs-per-user'], 1 + (seed % 2)),
    pauseMs: number(values.pause, engine === 'patroni' ? 2_000 : 400),
    longestStallMs: number(values.stall, 30_000),
  }
}

function oneOf<T extends string>(name: string, value: string, names: readonly T[]): T {
  const found = names.find((each) => each === value)
  if (!found) throw new Error(`--${name} is one of ${names.join(', ')}`)
  return found
}

const number = (value: string | undefined, fallback: number) =>
  value === undefined ? fallback : Number(value)
