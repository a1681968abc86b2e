export default function SqlPage() {
  return <div class="page">SQL</div>
}
