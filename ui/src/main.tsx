import './ui/tokens.css';
import './ui/base.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { createRootRoute, createRoute, createRouter, Outlet, RouterProvider } from '@tanstack/react-router';
import { lazy } from 'react';
import { createRoot } from 'react-dom/client';
import { watchHealth } from './api/health';
import { queryClient } from './api/queries';
import { Frame } from './frame/Frame';
import { Guarded } from './frame/Guarded';
import { NotFound } from './frame/NotFound';
import { connect } from './frame/navigate';
import { applyPreferences } from './frame/preferences';
import { parseSearch, writeSearch } from './frame/search';
import { ROUTES, type Route } from './routes';

const pathOf = (route: Route) => new RegExp(`^${route.path.replace(/\$\w+/g, '[^/]+')}/?$`);

function screen(route: Route) {
  const path = pathOf(route);
  const LazyPage = lazy(route.page);
  return function Screen() {
    return (
      <Guarded path={path} role={route.role} search={route.search}>
        <LazyPage />
      </Guarded>
    );
  };
}

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });
const framed = createRoute({ getParentRoute: () => root, id: 'frame', component: Frame });
// The table is data: TanStack's types of each path are not needed, addresses are written by the codecs.
const bare = ROUTES.filter((route) => route.bare).map((route) =>
  createRoute({ getParentRoute: () => root, path: route.path, component: screen(route) }),
);
const inside = ROUTES.filter((route) => !route.bare).map((route) =>
  createRoute({ getParentRoute: () => framed, path: route.path, component: screen(route) }),
);
const rest = createRoute({ getParentRoute: () => framed, path: '$', component: NotFound });
const router = createRouter({
  routeTree: root.addChildren([...bare, framed.addChildren([...inside, rest])]),
  parseSearch,
  stringifySearch: writeSearch,
  defaultPreload: false,
  scrollRestoration: true,
});

const patterns = ROUTES.map((route) => ({ route, test: pathOf(route) }));

connect(router.history, (href) => {
  const path = href.split(/[?#]/)[0] ?? '';
  void patterns
    .find(({ test }) => test.test(path))
    ?.route.page()
    .catch(() => undefined);
});

watchHealth();

const place = document.getElementById('root');
if (!place) throw new Error('index.html has no #root');
const reactRoot = createRoot(place);
void applyPreferences().then(() =>
  reactRoot.render(
    <QueryClientProvider client={queryClient}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  ),
);
