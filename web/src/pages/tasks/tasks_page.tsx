export function TasksPage() {
  return <div class="page">Tasks</div>;
}
