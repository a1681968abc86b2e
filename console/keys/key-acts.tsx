import type { KeyDocument } from '../../src/contract/documents.ts'
import { deleteKey, regenerateToken } from '../api/keys.ts'
import { session, signIn } from '../api/session.ts'
import { navigate } from '../parts/browser/route.ts'
import { ConfirmedAct } from '../parts/controls/confirmed-act.tsx'
import { toast } from '../parts/toast.tsx'
import { keysOf } from './member.ts'

type Acting = Readonly<{ of: KeyDocument; failed: (error: unknown) => void }>

export function RegenerateToken({ of: key, failed, done }: Acting & Readonly<{ done: () => void }>) {
  const isOwn = key.token === session.value?.token
  const run = async () => {
    const { token } = await regenerateToken(key.name, keysOf())
    toast('New token created')
    // If it is the key of this session, stay signed in.
    if (isOwn) signIn({ ...session.value!, token })
    else done()
  }
  return (
    <ConfirmedAct name={key.name} label="New token" act="Create new token" run={run} failed={failed}>
      <p>
        The current token of “{key.name}” stops working at once, and its running statements are cancelled.
        Programs that use it get error 401 until you give them the new token.
      </p>
      <p>The rights of the key do not change.</p>
      {isOwn && (
        <p>You are signed in with this key. This tab continues with the new token; other tabs ask for it.</p>
      )}
    </ConfirmedAct>
  )
}

export function DeleteKey({ of: key, failed }: Acting) {
  const run = async () => {
    await deleteKey(key.name, keysOf())
    toast(`Key ${key.name} deleted`)
    navigate('/keys')
  }
  return (
    <ConfirmedAct name={key.name} label="Delete" act="Delete key" run={run} failed={failed}>
      <p>
        Programs that use “{key.name}” stop working at once, and its running statements are cancelled. This
        cannot be undone: a new key of the same name has another token.
      </p>
      <p>Tables created with this key stay. You own them.</p>
    </ConfirmedAct>
  )
}
