import { computed, signal } from '@preact/signals'
import { randomId } from '../../src/client/http/random-id.ts'
import type { Credential } from './credential.ts'

/** A user who signed in with a key, or browses public data without one. */
export type Session = Readonly<{
  username: string
  token: string | null
  isMaster: boolean
  /** Null without a key. */
  keyName: string | null
  organization: string | null
}>

/** The token is stored in this tab only (sessionStorage). A new tab gets it from an open one. */
export const session = signal<Session | null>(null)
export const adminToken = signal<string | null>(null)

/** True while a request waits for the user to sign in again. The frame shows the dialog. */
export const isExpired = signal(false)

export const credential = computed<Credential | null>(() =>
  session.value === null
    ? null
    : { kind: 'key', username: session.value.username, token: session.value.token },
)

/**
 * If another user or key was signed in, the page reloads: nothing of the previous one is shown, and what this page
 * still stores while it closes belongs to the previous one.
 */
export function signIn(next: Session): void {
  const former = session.value
  if (former && !isSamePerson(former, next)) {
    keep({ ...current(), session: next })
    location.reload()
    return
  }
  session.value = next
  keep()
  endExpiry(true)
}

/** A new token of the same kind of key counts as the same person. A weaker key, or none, does not. */
const isSamePerson = (former: Session, next: Session) =>
  former.username === next.username &&
  former.isMaster === next.isMaster &&
  (former.token === null) === (next.token === null)

export function signInAsOperator(token: string): void {
  adminToken.value = token
  keep()
  endExpiry(true)
}

/** Signs out in all tabs. A tab that shows another site is signed out when it comes back. */
export function signOut(): void {
  localStorage.removeItem(signInName)
  tell({ kind: 'signed-out' })
  endExpiry(false)
  leaveThisTab()
}

/**
 * Restores the session of this tab, or asks the other tabs for theirs. A page that does not call it never has a token.
 */
export async function restoreSession(): Promise<void> {
  channel = new BroadcastChannel('cartage.session')
  channel.onmessage = ({ data }: MessageEvent<Message>) => receive(data)
  for (const event of ['storage', 'pageshow', 'visibilitychange']) addEventListener(event, leaveIfSignedOut)
  const kept = readKeptSession()
  if (kept && isValid(kept)) return take(kept)
  sessionStorage.removeItem(storageName)
  tell({ kind: 'ask' })
  await new Promise<void>((resolve) => {
    onAnswer = resolve
    setTimeout(resolve, answerMs)
  })
}

/** Opens the sign-in dialog. Resolves to false if the user closes it. */
export function askToSignIn(): Promise<boolean> {
  isExpired.value = true
  return new Promise((resolve) => waiting.push(resolve))
}

export function endExpiry(isSignedIn: boolean): void {
  isExpired.value = false
  for (const resolve of waiting.splice(0)) resolve(isSignedIn)
}

/** The session of a tab, with the id of its sign-in. Signing out ends that id for all tabs. */
type Kept = Readonly<{ session: Session | null; adminToken: string | null; signIn: string | null }>
type Message = Readonly<{ kind: 'ask' | 'signed-out' }> | Readonly<{ kind: 'answer'; kept: Kept }>

const storageName = 'cartage.session'
/** Its value is in localStorage, which all tabs share: a random id, not a secret. */
const signInName = 'cartage.sign-in'
const answerMs = 120
let channel: BroadcastChannel | undefined
const tell = (message: Message) => channel?.postMessage(message)
const waiting: ((isSignedIn: boolean) => void)[] = []
let onAnswer: () => void = () => undefined

function receive(data: Message): void {
  if (data.kind === 'ask' && (session.value || adminToken.value)) {
    tell({ kind: 'answer', kept: current() })
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
  // Until this page is gone, other tabs may still ask it for the session.
  take({ session: null, adminToken: null })
  // The reload clears memory and closes databases that are to be deleted.
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

function keep(kept = current()): void {
  const signIn = kept.signIn ?? randomId()
  localStorage.setItem(signInName, signIn)
  sessionStorage.setItem(storageName, JSON.stringify({ ...kept, signIn }))
}

function take(kept: Pick<Kept, 'session' | 'adminToken'>): void {
  session.value = kept.session
  adminToken.value = kept.adminToken
}
