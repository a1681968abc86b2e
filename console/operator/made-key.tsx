import type { ComponentChildren } from 'preact'
import { CodeBlock } from '../parts/code-block.tsx'
import { Notice } from '../parts/notice.tsx'

/** The Master key of a new account. Its owner signs in with it. */
export function MadeKey({
  username,
  token,
  children,
}: Readonly<{ username: string; token: string; children: ComponentChildren }>) {
  return (
    <Notice kind="good">
      <p>{children}</p>
      <CodeBlock label={`Master key of ${username}`} text={token} />
      <p class="small muted">This key has all rights in the account.</p>
    </Notice>
  )
}
