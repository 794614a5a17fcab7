/* torch_folder: a model of PyTorch's files in a folder (formats/folder.h): pytorch_model.bin, or
 * pytorch_model.bin.index.json and its shards.
 *
 * In the plan a folder is one model: the tensors of the shards one after another, in the order
 * of the shards' names. Source is that of the first shard, with "config" from config.json.
 *
 * An index names the tensors as the shards do. If the prefix of their names is removed, it is
 * removed in the index too.
 */
#ifndef IMPORTS_TORCH_TORCH_FOLDER_H
#define IMPORTS_TORCH_TORCH_FOLDER_H

#include "imports/torch/torch.h"

/* As open_path and folder_of of format.h. */
struct source *torch_folder_open(const char *path, const struct format_options *options,
                                 void (*note)(const char *), const struct format **which,
                                 struct err *e);
char *torch_folder_of(const char *path);
extern const struct format format_pytorch_folder;

#endif
