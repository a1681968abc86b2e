import { signal } from '@preact/signals'
import { clear, createStore, del, entries, get, set, type UseStore, update } from 'idb-keyval'
import { randomId } from '../../src/client/http/random-id.ts'
import { type Session, session } from './session.ts'

/** Exported here, so that the library is in one file with its other users. */
export { promisifyRequest } from 'idb-keyval'

/** True if the browser refuses storage. Then values live in memory until the tab is closed, and the frame says so. */
export const isNothingKept = signal(false)

/** Reads what this browser stores for the user: drafts, history, job ids, settings. Never a token. */
export async function readKept<T>(name: string): Promise<T | undefined> {
  const { memory, store } = storeOf(currentUser())
  if (memory.has(name)) return memory.get(name) as T
  return attempt(() => get<T>(name, store()))
}

/**
 * Writes to localStorage synchronously, for a page that is closing: IndexedDB drops what such a page has not finished
 * storing. A later note replaces the former one of this tab. Returns a function that removes the note.
 */
export function leaveNote(name: string, note: unknown): () => void {
  if (isForgotten) return () => undefined
  const key = notesOf(name) + tabId
  const text = JSON.stringify(note)
  try {
    localStorage.setItem(key, text)
  } catch {
    // localStorage is full or forbidden: IndexedDB may still finish in time.
  }
  return () => {
    if (localStorage.getItem(key) === text) localStorage.removeItem(key)
  }
}

/** The notes left by closed tabs, and a function that removes them once they are stored. */
export function readNotes<T>(name: string): Readonly<{ notes: readonly T[]; forget: () => void }> {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(notesOf(name)))
  return {
    notes: keys.map((key) => JSON.parse(localStorage.getItem(key)!) as T),
    forget: () => {
      for (const key of keys) localStorage.removeItem(key)
    },
  }
}

export async function keep(name: string, value: unknown): Promise<void> {
  const { memory, store } = storeOf(currentUser())
  if (isNothingKept.value) memory.set(name, value)
  await attempt(() => set(name, value, store()))
  if (isNothingKept.value) memory.set(name, value)
}

/** Changes a stored value in one transaction, so that tabs do not overwrite each other. Returns the new value. */
export async function changeKept<T>(name: string, change: (former: T | undefined) => T): Promise<T> {
  const { memory, store } = storeOf(currentUser())
  let next: T | undefined
  const apply = (former: T | undefined) => {
    next = change(former)
    return next
  }
  if (!isNothingKept.value) await attempt(() => update<T>(name, apply, store()))
  if (isNothingKept.value) memory.set(name, apply(memory.get(name) as T | undefined))
  return next as T
}

/** All stored values of this user, by name. */
export async function readAllKept(): Promise<Readonly<Record<string, unknown>>> {
  const { memory, store } = storeOf(currentUser())
  const stored = isNothingKept.value ? [] : ((await attempt(() => entries<string, unknown>(store()))) ?? [])
  return Object.fromEntries([...stored, ...memory])
}

export async function forgetKept(name: string): Promise<void> {
  const { memory, store } = storeOf(currentUser())
  memory.delete(name)
  await attempt(() => del(name, store()))
}

/**
 * Deletes everything of all users, and this page stores nothing from now on. An open database is emptied now, and
 * deleted when the page is left.
 */
export async function forgetThisComputer(): Promise<void> {
  isForgotten = true
  for (const { store } of stores.values()) await clear(store()).catch(() => undefined)
  const databases = await indexedDB.databases().catch(() => [])
  for (const { name } of databases) if (name?.startsWith(prefix)) indexedDB.deleteDatabase(name)
  localStorage.clear()
}

/**
 * Runs `work` on a second database of this user, for large values that are read one by one. Undefined if the browser
 * refuses or has no room.
 */
export async function withLargeStore<T>(work: (store: UseStore) => Promise<T>): Promise<T | undefined> {
  if (isForgotten || isNothingKept.value) return undefined
  const { store } = storeOf(`${currentUser()}:large`)
  return Promise.resolve()
    .then(() => work(store()))
    .catch(() => undefined)
}

type KeptStore = Readonly<{ memory: Map<string, unknown>; store: () => UseStore }>

const prefix = 'cartage:'
const stores = new Map<string, KeptStore>()
const tabId = randomId()
let isForgotten = false
const notesOf = (name: string) => `${prefix}${currentUser()}:${name}:`

let owner = 'operator'

/**
 * Each key has its own storage, and so has a visitor without a key. None sees what another has written: a page that is
 * left after signing out still stores its drafts for the previous user.
 */
function currentUser(): string {
  if (session.value) owner = ownerOf(session.value)
  return owner
}

function ownerOf({ username, token, isMaster }: Session): string {
  if (isMaster) return username
  return token === null ? `${username} without a key` : `${username} ${fingerprintOf(token)}`
}

/** Distinguishes keys without revealing the token. FNV-1a, because crypto.subtle is missing without TLS. */
function fingerprintOf(token: string): string {
  let hash = 0xcbf29ce484222325n
  for (const byte of new TextEncoder().encode(token)) {
    hash = ((hash ^ BigInt(byte)) * 0x100000001b3n) & 0xffffffffffffffffn
  }
  return hash.toString(16)
}

function storeOf(user: string): KeptStore {
  const known = stores.get(user)
  if (known) return known
  let opened: UseStore | undefined
  const store = () => {
    opened ??= createStore(prefix + user, 'kept')
    return opened
  }
  const made = { memory: new Map<string, unknown>(), store }
  stores.set(user, made)
  return made
}

async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
  if (isForgotten) return undefined
  try {
    return await work()
  } catch {
    isNothingKept.value = true
    return undefined
  }
}
