import type { ReplicaReader } from '../statements/replica-reader.ts'

/** What was found, and how old it is at most if a replica has answered. */
export type Aged<T> = Readonly<{ found: T; ageMs: number | undefined }>

/** Runs work that several readers share. */
export async function aged<T>(
  reader: ReplicaReader | undefined,
  work: (shared: ReplicaReader | undefined) => Promise<T>,
): Promise<Aged<T>> {
  const ages: number[] = []
  const shared = reader && {
    begins: (ageMs: number) => void ages.push(ageMs),
    returns: () => void ages.pop(),
  }
  const found = await work(shared)
  return { found, ageMs: ages.at(-1) }
}

/** Tells one of the readers. */
export async function told<T>(reader: ReplicaReader | undefined, shared: Promise<Aged<T>>): Promise<T> {
  const { found, ageMs } = await shared
  if (ageMs !== undefined) reader?.begins(ageMs)
  return found
}
