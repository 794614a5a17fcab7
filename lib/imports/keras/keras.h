/* keras: models and weights of Keras.
 *
 * .h5           HDF5 (wire/hdf5.h). Versions 1 and 2 of Keras write the whole model:
 *
 *                   attributes model_config, training_config, keras_version, backend
 *                   model_weights      attribute layer_names
 *                    LAYER             attribute weight_names, such as "LAYER/kernel:0"
 *                     LAYER/kernel:0   a dataset
 *                   optimizer_weights
 *
 *               or the weights alone, whose layers are in the root group. Tensors are called as
 *               in weight_names; a name that is used again gets that of its layer in front.
 * .weights.h5   version 3: groups of the objects of the model, each with a group "vars":
 *               layers/dense/vars/0. Tensors have their path as name.
 * .keras        a zip archive of config.json, metadata.json, and model.weights.h5 of version 3.
 *
 * Any other HDF5 file is read as a tree of datasets. Datasets of texts are left out, and so are
 * those of the optimizer, unless all are asked for.
 *
 * The configuration is a JSON text with the layers of the model. It becomes a key without a
 * change. Nothing in it runs: a Lambda layer may contain code of Python, and a layer of another
 * module needs that module; both are noted.
 *
 * The key keras.tensors, {"NAME":{"layout":"IO"},…}, has the order of the dimensions of weights
 * whose layer is known: O outputs, I inputs, H height, W width, D depth, M multiplier. Keras
 * stores weights of a Dense layer as [inputs, outputs], turned against other formats. The layer
 * is known from the configuration, else from the name that Keras gives to it.
 *
 * Source: the documentation of Keras ("Whole model saving & loading"), and its files.
 */
#ifndef IMPORTS_KERAS_KERAS_H
#define IMPORTS_KERAS_KERAS_H

#include "core/json.h"
#include "imports/import.h"
#include "wire/hdf5.h"
#include "wire/zip.h"

#define KERAS_TENSORS_KEY "keras.tensors"
#define KERAS_CONFIG_KEY "keras.model_config"
#define KERAS_DEPTH 32 /* maximum depth of groups */
#define KERAS_NAME 4096 /* maximum bytes of a path */

/* A dataset that becomes a tensor. */
struct keras_tensor {
	char *name;         /* owned */
	char *path;         /* owned: layer and name, for a name that is used again */
	const char *layout; /* NULL: not known */
	uint64_t at;        /* of the dataset's header */
	size_t number;
	bool again;
};

/* A dataset in chunks, which is put together when it is sent. */
struct keras_chunked {
	struct hdf5_type type;
	struct hdf5_space space;
	struct hdf5_data data;
};

struct keras {
	struct import import;
	struct hdf5 h5;
	struct zip zip;                /* of a .keras file */
	const struct zip_entry *weights; /* stored in the zip; NULL once its CRC-32 is proved */
	struct spool inflated;         /* the weights, if the zip has deflated them */
	struct spool gathered;         /* the chunked dataset that is being sent */
	json_t *classes;               /* {"LAYER":"Dense"}; null: not known, or of two classes */
	struct keras_tensor *tensors;
	size_t count, cap;
	struct keras_chunked **chunked; /* each owned */
	size_t chunked_count, chunked_cap;
	uint64_t optimizer, texts;     /* that are left out */
	bool all;                      /* read those of the optimizer too */
	struct buf relations;          /* the value of KERAS_TENSORS_KEY */
};

/* Take the configuration: add its key, fill x->classes, and note what would run. */
int keras_config(struct keras *x, const char *text, size_t n);

/* The layout of a tensor. path: its groups and its own name, which decides, or in version 3 the
 * number of the variable; layer: the name of its layer, or NULL. */
const char *keras_layout(const struct keras *x, const char *path, const char *layer,
                         size_t layer_bytes, unsigned ndim);

/* Collect the tensors of x->h5, and add its keys. *form: "model", "weights", or "variables". */
int keras_walk(struct keras *x, const char **form);

#endif
