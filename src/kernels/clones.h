// Functions compiled for several instruction sets, of which the processor's best is taken when the program starts.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define DOVETAIL_CLONES
#endif
#endif
#ifndef DOVETAIL_CLONES
#define DOVETAIL_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#else
#define DOVETAIL_CLONES
#endif
