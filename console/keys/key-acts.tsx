import type { KeyDocument } from '../../src/contract/documents.ts'
import { deleteKey, regenerateToken } from '../api/keys.ts'
import { session, signIn } from '../api/session.ts'
import { ConfirmedAct } from '../parts/confirmed-act.tsx'
import { navigate } from '../parts/route.ts'
import { toast } from '../parts/toast.tsx'
import { keysOf } from './member.ts'

type Acting = Readonly<{ of: KeyDocument; failed: (error: unknown) => void }>

export function RegenerateToken({ of: key, failed, done }: Acting & Readonly<{ done: () => void }>) {
  const isOwn = key.token === session.value?.token
  const run = async () => {
    const { token } = await regenerateToken(key.name, keysOf())
    toast('There is a new token')
    // One who is signed in with this key stays so.
    if (isOwn) signIn({ ...session.value!, token })
    else done()
  }
  return (
    <ConfirmedAct name={key.name} label="New token" act="Make a new token" run={run} failed={failed}>
      <p>
        The token that “{key.name}” has now stops working at once, everywhere: programs that use it get 401
        until they have the new one, and its running statements are ended.
      </p>
      <p>What the key may do stays the same.</p>
      {isOwn && <p>You are signed in with it: this tab goes on with the new token, other tabs ask for it.</p>}
    </ConfirmedAct>
  )
}

export function DeleteKey({ of: key, failed }: Acting) {
  const run = async () => {
    await deleteKey(key.name, keysOf())
    toast(`The key ${key.name} is deleted`)
    navigate('/keys')
  }
  return (
    <ConfirmedAct name={key.name} label="Delete" act="Delete the key" run={run} failed={failed}>
      <p>
        Programs that use “{key.name}” stop working at once, and its running statements are ended. A key
        cannot be brought back: another of the same name has another token.
      </p>
      <p>Tables that the key has made stay, and are yours.</p>
    </ConfirmedAct>
  )
}
