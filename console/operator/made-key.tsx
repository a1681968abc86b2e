import type { ComponentChildren } from 'preact'
import { CodeBlock } from '../parts/code-block.tsx'
import { Notice } from '../parts/notice.tsx'

/** The key of an account that was just made: its owner signs in with it. */
export function MadeKey({
  username,
  token,
  children,
}: Readonly<{ username: string; token: string; children: ComponentChildren }>) {
  return (
    <Notice kind="good">
      <p>{children}</p>
      <CodeBlock label={`Master key of ${username}`} text={token} />
      <p class="small muted">Whoever has this key may do everything in the account.</p>
    </Notice>
  )
}
