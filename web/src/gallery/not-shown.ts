/** The components of web/src/ui without a section in the gallery, and the reasons. */
export const NOT_SHOWN: Readonly<Record<string, string>> = {
  'actions-menu-list.tsx': 'The list of `ActionsMenu`, which loads it with the first click.',
  'chart-drawing.tsx': 'The drawing of `Chart`, which loads it.',
  'column-list.tsx': 'The list of `ColumnChoice`, which loads it with the first click.',
  'dialog-parts.tsx': 'The modal, the drawer and the question of `dialog.tsx`, which loads them.',
  'media-picker.tsx': 'It shows files that only a server has; `DropArea`, `UploadList` and `Thumbnail` are its parts.',
  'view-list.tsx': 'The list of `SavedViews`, which loads it with the first click.',
};
