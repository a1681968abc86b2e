import { computed, signal } from '@preact/signals'
import { randomId } from '../../src/client/http/random-id.ts'
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

/** Where somebody else was signed in, the page begins anew: nothing of theirs is shown to the next. */
export function signIn(next: Session): void {
  const former = session.value
  session.value = next
  keep()
  if (former && !isSamePerson(former, next)) location.reload()
  else endExpiry(true)
}

/** The same with a new token goes on; a weaker key, or none, does not. */
const isSamePerson = (former: Session, next: Session) =>
  former.username === next.username &&
  former.isMaster === next.isMaster &&
  (former.token === null) === (next.token === null)

export function signInAsOperator(token: string): void {
  adminToken.value = token
  keep()
  endExpiry(true)
}

/** Here and in the other tabs: those that show another page now find it out when they come back. */
export function signOut(): void {
  localStorage.removeItem(signInName)
  session.value = null
  adminToken.value = null
  sessionStorage.removeItem(storageName)
  channel.postMessage({ kind: 'signed-out' })
  endExpiry(false)
}

/** What this tab has, or what another tab tells. */
export async function restoreSession(): Promise<void> {
  for (const event of ['storage', 'pageshow', 'visibilitychange']) addEventListener(event, leaveIfSignedOut)
  const kept = readKeptSession()
  if (kept && isValid(kept)) return take(kept)
  sessionStorage.removeItem(storageName)
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

/** What a tab has, and the signing in that it goes back to: signing out ends that for all tabs. */
type Kept = Readonly<{ session: Session | null; adminToken: string | null; signIn: string | null }>
type Message = Readonly<{ kind: 'ask' | 'signed-out' }> | Readonly<{ kind: 'answer'; kept: Kept }>

const storageName = 'cartage.session'
/** In localStorage, which all tabs share: a random name, no secret. */
const signInName = 'cartage.sign-in'
const answerMs = 120
const channel = new BroadcastChannel('cartage.session')
const waiting: ((isSignedIn: boolean) => void)[] = []
let onAnswer: () => void = () => undefined

channel.onmessage = ({ data }: MessageEvent<Message>) => {
  if (data.kind === 'ask' && (session.value || adminToken.value)) {
    channel.postMessage({ kind: 'answer', kept: current() })
  } else if (data.kind === 'answer' && !session.value && !adminToken.value && isValid(data.kept)) {
    take(data.kept)
    keep()
    onAnswer()
  } else if (data.kind === 'signed-out') {
    leaveThisTab()
  }
}

function leaveThisTab(): void {
  sessionStorage.removeItem(storageName)
  // Until this page is gone it may still be asked, by the tab that has signed out and is loaded anew.
  take({ session: null, adminToken: null })
  // Nothing of the former person stays in the memory of this tab, and no open database hinders its deletion.
  location.reload()
}

function leaveIfSignedOut(): void {
  const kept = readKeptSession()
  if (kept && !isValid(kept)) leaveThisTab()
}

const current = (): Kept => ({
  session: session.value,
  adminToken: adminToken.value,
  signIn: localStorage.getItem(signInName),
})

const isValid = ({ signIn }: Kept) => signIn !== null && signIn === localStorage.getItem(signInName)

function readKeptSession(): Kept | undefined {
  const kept = sessionStorage.getItem(storageName)
  return kept === null ? undefined : (JSON.parse(kept) as Kept)
}

function keep(): void {
  if (localStorage.getItem(signInName) === null) localStorage.setItem(signInName, randomId())
  sessionStorage.setItem(storageName, JSON.stringify(current()))
}

function take(kept: Pick<Kept, 'session' | 'adminToken'>): void {
  session.value = kept.session
  adminToken.value = kept.adminToken
}
