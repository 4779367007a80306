// The public <perdure/history_text.h> for those inside, who also know what it throws: DecodeError.
#pragma once

#include <perdure/history_text.h>
#include "model/decode_error.h"
