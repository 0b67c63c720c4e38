import { type Permission, RESOURCES } from '../access/index.ts';

/** A page of the console, and the permission without which nobody may open it. */
export interface ConsoleLink {
  path: string;
  permission: Permission;
}
/** The page behind a path that somebody gave, by the resource that the path begins with. */
export function linkTo(path: string): ConsoleLink {
  const [, first = ''] = new URL(path, 'https://console.invalid').pathname.split('/');
  const page = first === 'calendar' ? 'posts' : first.replaceAll('-', '_');
  const resource = RESOURCES.find((one) => one === page) ?? 'notifications';
  return { path, permission: `${resource}:read` };
}
/**
 * What a fact tells people, and whom: the maker or the makers, who an owner stands in for when all are gone, and those
 * who hold the permission.
 */
export interface Told {
  category: string;
  maker?: string | null;
  makers?: readonly string[];
  /** The one person whom it is for, while their role holds the permission; nobody stands in. */
  reader?: string;
  permission?: Permission;
  title: string;
  content: string;
  link: ConsoleLink | null;
  data: Readonly<Record<string, string | number | null>>;
}
