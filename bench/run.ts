import { readdir } from 'node:fs/promises'
import type { Entry, Result } from './frame/entry.ts'
import { measure } from './frame/measure.ts'
import { keep, summary } from './frame/report.ts'

// Node reads these certificates at every start, which takes 75 ms for Debian's: time of the machine, not ours.
delete process.env.NODE_EXTRA_CA_CERTS

// Runs all benchmarks, or those whose name begins with one of the arguments: npm run bench -- copy jobs-latency
const wanted = process.argv.slice(2)
const entries = await findEntries()
const chosen = entries.filter(
  ({ name }) => wanted.length === 0 || wanted.some((start) => name.startsWith(start)),
)
if (chosen.length === 0) {
  process.stderr.write(`no benchmark begins with ${wanted.join(', ')}; there are:\n`)
  for (const { name, title } of entries) process.stderr.write(`  ${name}: ${title}\n`)
  process.exit(2)
}
const results: Result[] = []
for (const entry of chosen) {
  process.stderr.write(`${entry.title} against ${entry.baseline}\n`)
  try {
    results.push(await measure(entry))
    // Stored one by one: a measurement of an hour is not lost when the next fails.
    await keep(results.slice(-1))
  } catch (error) {
    console.error(`${entry.name} failed:`, error)
  }
}
process.stdout.write(`${summary(results)}\n`)
process.exit(results.length === chosen.length ? 0 : 1)

async function findEntries(): Promise<Entry[]> {
  const files = (await readdir(import.meta.dirname)).filter((file) => file.endsWith('.bench.ts')).sort()
  const modules = await Promise.all(files.map((file) => import(new URL(file, import.meta.url).href)))
  return modules.flatMap(({ entries }: { entries: readonly Entry[] }) => entries)
}
