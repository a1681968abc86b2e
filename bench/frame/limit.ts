import { type Party, parties, type ResourceUse } from './resource-use.ts'

/** The resource that was the limit, judged by the CPU use while ours ran. */
export function limitOf(use: ResourceUse): string {
  const busy = parties.reduce((sum, party) => sum + use[party].all, 0)
  const busiest = [...parties].sort((a, b) => use[b].busiest - use[a].busiest)[0]!
  const largest = [...parties].sort((a, b) => use[b].all - use[a].all)[0]!
  if (use[busiest].busiest >= full) return `a core: ${oneOf[busiest]}`
  if (busy >= full * use.cores) return `all cores, most of it ${names[largest]}`
  if (use.disk >= 1 - busy && use.disk >= often) return 'the disk'
  return `turns: one waits for the other, most of it for ${names[largest]}`
}

/** The figures that it was judged by. */
export function describeUse(use: ResourceUse): string {
  const of = (party: Party) => `${names[party]} ${use[party].all} (${use[party].busiest})`
  return `${parties.map(of).join(', ')}, disk ${use.disk}`
}

/** This share of a CPU counts as all of it: the kernel uses some. */
const full = 0.85
const often = 0.25

const names = { service: 'the service', postgres: 'PostgreSQL', client: 'the client' }
const oneOf = {
  service: 'one thread of the service',
  postgres: 'one backend of PostgreSQL',
  client: 'one thread of the client',
}
