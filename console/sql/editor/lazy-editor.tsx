import { useLoaded } from '../../parts/loading.tsx'
import { ErrorNotice } from '../../parts/notice.tsx'
import type { EditorProps } from './editor.tsx'

type EditorCode = typeof import('./editor.tsx')
let loaded: EditorCode | undefined

async function loadEditor(): Promise<EditorCode> {
  loaded = await import('./editor.tsx')
  return loaded
}

// Begun with the page: CodeMirror is larger than all the rest of it. A failure shows when it is needed.
loadEditor().catch(() => undefined)

/** The editor, as soon as its code is there. The page is drawn before. */
export function LazyEditor(props: EditorProps) {
  const { value: code = loaded, error, reload } = useLoaded(loadEditor, [])
  if (code) return <code.Editor {...props} />
  return (
    <div class="editor">
      {error !== undefined && (
        <ErrorNotice
          error={error}
          title="The editor could not be loaded."
          acts={
            <button type="button" onClick={reload}>
              Try again
            </button>
          }
        />
      )}
    </div>
  )
}
