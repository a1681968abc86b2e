import { readdir } from 'node:fs/promises'
import type { Entry, Result } from './frame/entry.ts'
import { measure } from './frame/measure.ts'
import { report } from './frame/report.ts'

// Node reads these certificates whenever it starts, which takes 75 ms for those of Debian: the time of the machine, not ours.
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
let failures = 0
let isInterrupted = false
for (const name of ['SIGINT', 'SIGTERM'] as const) {
  process.once(name, () => {
    isInterrupted = true
  })
}
for (const entry of chosen) {
  if (isInterrupted) break
  process.stderr.write(`${entry.title} against ${entry.baseline}\n`)
  try {
    results.push(await measure(entry))
  } catch (error) {
    if (isInterrupted) break
    failures += 1
    console.error(`${entry.name} failed:`, error)
  }
}
// Also after a failure, or Ctrl-C: what the others have measured, perhaps for an hour, is not lost with it.
await report(results)
process.exit(failures === 0 && !isInterrupted ? 0 : 1)

async function findEntries(): Promise<Entry[]> {
  const files = (await readdir(import.meta.dirname)).filter((file) => file.endsWith('.bench.ts')).sort()
  const modules = await Promise.all(files.map((file) => import(new URL(file, import.meta.url).href)))
  return modules.flatMap(({ entries }: { entries: readonly Entry[] }) => entries)
}
