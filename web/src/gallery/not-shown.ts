/** The components of web/src/ui without a section in the gallery, and the reasons. */
export const NOT_SHOWN: Readonly<Record<string, string>> = {
  'actions/actions-menu-list.tsx': 'The list of `ActionsMenu`, which loads it with the first click.',
  'chart/chart-drawing.tsx': 'The drawing of `Chart`, which loads it.',
  'dialog/dialog-parts.tsx': 'The modal and the drawer of `Dialog` and `SidePanel`, which load them.',
  'media/media-picker.tsx':
    'It shows files that only a server has; `DropArea`, `UploadList` and `Thumbnail` are its parts.',
  'on-demand.tsx': 'It draws nothing itself: `ActionsMenu`, `ColumnChoice` and `SavedViews` use it.',
  'saved-views/view-list.tsx': 'The list of `SavedViews`, which loads it with the first click.',
  'table/column-list.tsx': 'The list of `ColumnChoice`, which loads it with the first click.',
};
