import { computed, signal } from '@preact/signals'
import type { Credential } from './credential.ts'

/** A person who has signed in with a key of an account, or looks around without one. */
export type Session = Readonly<{
  username: string
  token: string | null
  isMaster: boolean
  organization: string | null
}>

/** The token is kept in this tab alone (sessionStorage); open tabs give it to a new one that asks. */
export const session = signal<Session | null>(null)
export const adminToken = signal<string | null>(null)

/** Set while a request waits for the person to sign in again; the frame shows the dialog. */
export const isExpired = signal(false)

export const credential = computed<Credential | null>(() =>
  session.value === null
    ? null
    : { kind: 'key', username: session.value.username, token: session.value.token },
)

export function signIn(next: Session): void {
  session.value = next
  keep()
  endExpiry(true)
}

export function signInAsOperator(token: string): void {
  adminToken.value = token
  keep()
  endExpiry(true)
}

/** Here and in the other tabs. */
export function signOut(): void {
  session.value = null
  adminToken.value = null
  sessionStorage.removeItem(storageName)
  channel.postMessage({ kind: 'signed-out' })
  endExpiry(false)
}

/** What this tab has, or what another tab tells. */
export async function restoreSession(): Promise<void> {
  const kept = sessionStorage.getItem(storageName)
  if (kept !== null) return take(JSON.parse(kept) as Kept)
  channel.postMessage({ kind: 'ask' })
  await new Promise<void>((resolve) => {
    onAnswer = resolve
    setTimeout(resolve, answerMs)
  })
}

/** Asks the person to sign in again, over whatever they were doing. False: they would not. */
export function askToSignIn(): Promise<boolean> {
  isExpired.value = true
  return new Promise((resolve) => waiting.push(resolve))
}

export function endExpiry(isSignedIn: boolean): void {
  isExpired.value = false
  for (const resolve of waiting.splice(0)) resolve(isSignedIn)
}

type Kept = Readonly<{ session: Session | null; adminToken: string | null }>
type Message = Readonly<{ kind: 'ask' | 'signed-out' }> | Readonly<{ kind: 'answer'; kept: Kept }>

const storageName = 'cartage.session'
const answerMs = 120
const channel = new BroadcastChannel('cartage.session')
const waiting: ((isSignedIn: boolean) => void)[] = []
let onAnswer: () => void = () => undefined

channel.onmessage = ({ data }: MessageEvent<Message>) => {
  if (data.kind === 'ask' && (session.value || adminToken.value)) {
    channel.postMessage({ kind: 'answer', kept: current() })
  } else if (data.kind === 'answer' && !session.value && !adminToken.value) {
    take(data.kept)
    keep()
    onAnswer()
  } else if (data.kind === 'signed-out') {
    sessionStorage.removeItem(storageName)
    // Until this page is gone it may still be asked, by the tab that has signed out and is loaded anew.
    take({ session: null, adminToken: null })
    // Nothing of the former person stays in the memory of this tab, and no open database hinders its deletion.
    location.reload()
  }
}

const current = (): Kept => ({ session: session.value, adminToken: adminToken.value })

function keep(): void {
  sessionStorage.setItem(storageName, JSON.stringify(current()))
}

function take(kept: Kept): void {
  session.value = kept.session
  adminToken.value = kept.adminToken
}
