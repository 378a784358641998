package ibv

// sysMembarrier is the number of membarrier(2).
const sysMembarrier = 283

// mutexSize is that of libc's pthread_mutex_t.
const mutexSize = 48
