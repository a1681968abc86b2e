import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { Benchmark } from './benchmark.ts'
import { Frame } from './frame.ts'
import { interleave } from './interleave.ts'
import { describeMachine } from './machine.ts'
import { keepResults, type Result, tableOf } from './results.ts'
import { ratiosOf, spreadOf } from './statistics.ts'

// npm run bench -- [--rounds N] [--dry-run] [name...]: all benchmarks, or those of a file or with a name given.
const { values: options, positionals: wanted } = parseArgs({
  options: { rounds: { type: 'string' }, 'dry-run': { type: 'boolean' } },
  allowPositionals: true,
})
process.exitCode = await runBenchmarks()

async function runBenchmarks(): Promise<number> {
  const benchmarks = await findBenchmarks()
  if (benchmarks.length === 0) {
    console.error(`no benchmark is called ${wanted.join(' or ')}`)
    return 1
  }
  const results: Result[] = []
  for (const benchmark of benchmarks) results.push(await runBenchmark(benchmark))
  console.log(`\n${tableOf(results)}`)
  if (!options['dry-run']) await keepResults(results)
  return 0
}

async function findBenchmarks(): Promise<readonly Benchmark[]> {
  const folder = join(import.meta.dirname, '..')
  const files = (await readdir(folder)).filter((file) => file.endsWith('.bench.ts')).sort()
  const found = await Promise.all(
    files.map(async (file) => {
      const { benchmarks } = (await import(join(folder, file))) as { benchmarks: readonly Benchmark[] }
      const isWhole = wanted.length === 0 || wanted.includes(file.replace('.bench.ts', ''))
      return benchmarks.filter(({ name }) => isWhole || wanted.includes(name))
    }),
  )
  return found.flat()
}

async function runBenchmark(benchmark: Benchmark): Promise<Result> {
  const rounds = Number(options.rounds ?? benchmark.rounds)
  const frame = new Frame()
  const stop = () => void frame.close().then(() => process.exit(130))
  process.once('SIGINT', stop).once('SIGTERM', stop)
  try {
    console.error(`${benchmark.name}: ${benchmark.title}`)
    const contest = await benchmark.prepare(frame)
    const samples = await interleave(contest, rounds, (round) => {
      process.stderr.write(`\r  round ${round} of ${rounds}${round === rounds ? '\n' : ''}`)
    })
    return {
      name: benchmark.name,
      title: benchmark.title,
      unit: benchmark.unit,
      rounds,
      baseline: { name: contest.baseline.name, value: spreadOf(samples.baseline) },
      candidates: contest.candidates.map(({ name }, place) => ({
        name,
        value: spreadOf(samples.candidates[place]!),
        ratio: spreadOf(ratiosOf(samples.candidates[place]!, samples.baseline)),
      })),
      command: `npm run bench -- ${benchmark.name}`,
      date: new Date().toISOString().slice(0, 10),
      machine: await describeMachine(),
    }
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
    await frame.close()
  }
}
