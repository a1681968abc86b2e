import type { KeyDocument } from '../../src/contract/documents.ts'
import { CodeBlock } from '../parts/code-block.tsx'
import { curlQuery } from './ready-lines.ts'

/** Two curl commands: one that works, one that is refused. */
export function ProofPanel({
  of: key,
  allowed,
  refused,
}: Readonly<{ of: KeyDocument; allowed: string; refused: string | undefined }>) {
  const { username } = key.user
  return (
    <section class="panel stack" aria-labelledby="proof">
      <h2 id="proof">Try it with curl</h2>
      <p class="muted small">
        Copy the token, then in a shell: <code>read -rs CARTAGE_API_KEY</code>, paste, Enter.
      </p>
      <span>This works:</span>
      <CodeBlock
        label="A request that works"
        text={curlQuery({ username, statement: allowed, token: undefined })}
      />
      {refused && (
        <>
          <span>This is refused:</span>
          <CodeBlock
            label="A request that is refused"
            text={curlQuery({ username, statement: refused, token: undefined })}
          />
        </>
      )}
    </section>
  )
}
