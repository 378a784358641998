// Package shm is RDMA between processes of one host: a device whose network is
// shared memory.
package shm
