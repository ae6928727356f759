import type {PageProps} from '..';
export function TaskPage({params}: PageProps) {
  return <div class="page">{params['id']}</div>;
}
