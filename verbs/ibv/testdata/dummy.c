/* dummy is a libibverbs with one device, whose requests complete at once without
 * doing anything. It is for tests, and to measure what a call costs. It needs no
 * headers of rdma-core: the offsets are those of layout-44.txt. With -DMOVED the
 * context's functions are not where they belong, with -DOLD there are none before
 * the context, with -DSHORT only the last ones.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AT(type, p, offset) (*(__typeof__(type) *)((char *)(p) + (offset)))
#define U8(p, offset) AT(uint8_t, p, offset)
#define U16(p, offset) AT(uint16_t, p, offset)
#define U32(p, offset) AT(uint32_t, p, offset)
#define U64(p, offset) AT(uint64_t, p, offset)
#define PTR(p, offset) AT(void *, p, offset)

#ifdef MOVED
#define OPS 16
#else
#define OPS 8
#endif

static char device[664] __attribute__((aligned(16)));
static void *devices[] = { device, NULL };
static int async_pipe[2];

/* what came last, for the tests */
char dummy_sends[32][128];
char dummy_recvs[32][32];
char dummy_attr[144];
int dummy_count;
int dummy_mask;
int dummy_refuse = -1; /* the place of a request that is refused */
int dummy_open;        /* objects that were not destroyed */
int dummy_busy;        /* memory cannot be deregistered */
int dummy_access;      /* of what was registered last */
int dummy_flags;       /* of the QP that was made last */
char dummy_bind[48];
uint64_t dummy_dmabuf[4]; /* offset, length, address, file */

static void *make(size_t size)
{
	dummy_open++;
	return calloc(1, size);
}

static int unmake(void *p)
{
	dummy_open--;
	free(p);
	return 0;
}

/* A CQ is 256 bytes of libibverbs', then a ring. */
struct ring { uint32_t head, tail, armed, unacked; struct { uint64_t id; uint32_t op, qpn; } at[256]; };
#define RING(cq) ((struct ring *)((char *)(cq) + 256))

static const uint32_t opcodes[] = { 1, 1, 0, 0, 2, 3, 4, 6, 5 };

static int post_send(void *qp, void *wr, void **bad)
{
	struct ring *ring = RING(PTR(qp, 24));
	dummy_count = 0;
	for (; wr; wr = PTR(wr, 8)) {
		if (dummy_count == dummy_refuse) {
			*bad = wr;
			return ENOMEM;
		}
		memcpy(dummy_sends[dummy_count++ & 31], wr, 128);
		if (!(U32(wr, 32) & 2))
			continue;
		uint32_t i = ring->tail++ & 255;
		ring->at[i].id = U64(wr, 0);
		ring->at[i].op = opcodes[U32(wr, 28)];
		ring->at[i].qpn = U32(qp, 52);
		if (ring->armed) {
			ring->armed = 0;
			(void)!write(U32(PTR(PTR(qp, 24), 8), 12), "e", 1);
		}
	}
	return 0;
}

static int post_recv(void *qp, void *wr, void **bad)
{
	(void)qp;
	dummy_count = 0;
	for (; wr; wr = PTR(wr, 8)) {
		if (dummy_count == dummy_refuse) {
			*bad = wr;
			return ENOMEM;
		}
		memcpy(dummy_recvs[dummy_count++ & 31], wr, 32);
	}
	return 0;
}

static int poll_cq(void *cq, int n, char *wc)
{
	struct ring *ring = RING(cq);
	int i;
	for (i = 0; i < n && ring->head != ring->tail; i++, wc += 48) {
		uint32_t at = ring->head++ & 255;
		memset(wc, 0, 48);
		U64(wc, 0) = ring->at[at].id;
		U32(wc, 12) = ring->at[at].op;
		U32(wc, 28) = ring->at[at].qpn;
	}
	return i;
}

static int req_notify_cq(void *cq, int solicited)
{
	RING(cq)->armed = 1 + solicited;
	return 0;
}

static void *alloc_mw(void *pd, int type)
{
	char *mw = make(64);
	PTR(mw, 0) = PTR(pd, 0);
	PTR(mw, 8) = pd;
	U32(mw, 16) = 0x1100;
	U32(mw, 24) = type;
	return mw;
}

static int dealloc_mw(void *mw) { return unmake(mw); }

static int bind_mw(void *qp, void *mw, void *bind)
{
	(void)qp;
	if (U32(mw, 24) != 1)
		return EINVAL;
	memcpy(dummy_bind, bind, 48);
	U32(mw, 16) += 0x100;
	return 0;
}

/* Device memory is what ibv_dm has, then the bytes. */
static int memcpy_to_dm(char *dm, uint64_t offset, const void *from, size_t n)
{
	memcpy(dm + 64 + offset, from, n);
	return 0;
}

static int memcpy_from_dm(void *to, char *dm, uint64_t offset, size_t n)
{
	memcpy(to, dm + 64 + offset, n);
	return 0;
}

static void *alloc_dm(void *ctx, void *attr)
{
	if (U64(attr, 0) > 2048) {
		errno = ENOMEM;
		return NULL;
	}
	char *dm = make(64 + U64(attr, 0));
	PTR(dm, 0) = ctx;
	PTR(dm, 8) = memcpy_to_dm;
	PTR(dm, 16) = memcpy_from_dm;
	return dm;
}

static int free_dm(void *dm) { return unmake(dm); }

void *ibv_reg_mr(void *pd, void *addr, size_t length, int access);

static void *reg_dm_mr(void *pd, void *dm, uint64_t offset, size_t length, unsigned access)
{
	(void)dm;
	return ibv_reg_mr(pd, (void *)offset, length, access);
}

void *ibv_reg_dmabuf_mr(void *pd, uint64_t offset, size_t length, uint64_t addr, int fd, int access)
{
	if (fcntl(fd, F_GETFD) < 0) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	dummy_dmabuf[0] = offset;
	dummy_dmabuf[1] = length;
	dummy_dmabuf[2] = addr;
	dummy_dmabuf[3] = fd;
	return ibv_reg_mr(pd, (void *)addr, length, access);
}

int ibv_query_device(void *ctx, char *a);

static int query_device_ex(void *ctx, void *input, char *a, size_t size)
{
	if (input || size != 400)
		return EINVAL;
	memset(a, 0, size);
	U64(a, 376) = 4096;
	return ibv_query_device(ctx, a);
}

void *ibv_create_qp(void *pd, char *a);

static void *create_qp_ex(void *ctx, char *a)
{
	if (U32(a, 60) != 5 || PTR(PTR(a, 64), 0) != ctx || U32(a, 80) != 2) {
		errno = EOPNOTSUPP;
		return NULL;
	}
	dummy_flags = U32(a, 80);
	return ibv_create_qp(PTR(a, 64), a);
}

/* What is before the context, and where the context says so. */
#define BEFORE 512
#define ABI (280 + sizeof(pthread_mutex_t))

static void extend(char *ctx)
{
#ifndef OLD
	PTR(ctx, ABI) = (void *)UINTPTR_MAX;
	PTR(ctx, -264) = reg_dm_mr;
	PTR(ctx, -256) = alloc_dm;
	PTR(ctx, -248) = free_dm;
	PTR(ctx, -104) = query_device_ex;
	PTR(ctx, -56) = create_qp_ex;
	U64(ctx, -8) = BEFORE + ABI + 8;
#endif
#ifdef SHORT
	U64(ctx, -8) = 104 + ABI + 8;
#endif
}

void **ibv_get_device_list(int *n)
{
	strcpy(device + 24, "dummy0");
	strcpy(device + 408, "/sys/class/infiniband/dummy0");
	U32(device, 16) = 1;
	*n = 1;
	return devices;
}

void ibv_free_device_list(void **list) { (void)list; }

void *ibv_open_device(void *dev)
{
	char *ctx = (char *)make(BEFORE + 512) + BEFORE;
	extend(ctx);
	if (pipe2(async_pipe, O_CLOEXEC))
		return NULL;
	PTR(ctx, 0) = dev;
	PTR(ctx, OPS + 56) = alloc_mw;
	PTR(ctx, OPS + 64) = bind_mw;
	PTR(ctx, OPS + 72) = dealloc_mw;
	PTR(ctx, OPS + 88) = poll_cq;
	PTR(ctx, OPS + 96) = req_notify_cq;
	PTR(ctx, OPS + 160) = post_recv;
	PTR(ctx, OPS + 200) = post_send;
	PTR(ctx, OPS + 208) = post_recv;
	U32(ctx, 264) = open("/dev/null", O_RDWR | O_CLOEXEC);
	U32(ctx, 268) = async_pipe[0];
	U32(ctx, 272) = 1;
	return ctx;
}

int ibv_close_device(void *ctx)
{
	close(U32(ctx, 264));
	close(async_pipe[0]);
	close(async_pipe[1]);
	return unmake((char *)ctx - BEFORE);
}

int ibv_query_device(void *ctx, char *a)
{
	(void)ctx;
	memset(a, 0, 232);
	strcpy(a, "1.2.3");
	memcpy(a + 64, "\0\x02\xc9\3\0\0\x12\x34", 8);
	U64(a, 80) = 1ull << 40;
	U32(a, 96) = 0x2c9;
	U32(a, 100) = 4129;
	U32(a, 116) = 1 << 24 | 1 << 17;
	static const int limits[] = { 108, 112, 120, 128, 132, 136, 140, 144, 156, 176, 188, 200, 212, 216, 220 };
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		U32(a, limits[i]) = 64 + 16 * i;
	U32(a, 164) = 2;
	U8(a, 227) = 1;
	return 0;
}

int ibv_query_port(void *ctx, uint8_t port, char *a)
{
	(void)ctx, (void)port;
	U32(a, 0) = 5; /* active, deferred */
	U32(a, 4) = 5;
	U32(a, 8) = 4;
	U32(a, 12) = 4;
	U32(a, 20) = 1u << 30;
	U16(a, 32) = 1;
	U16(a, 34) = 7;
	U16(a, 36) = 1;
	U8(a, 43) = 2;
	U8(a, 44) = 64;
	U8(a, 46) = 1;
	return 0;
}

static void gid(char *e, int index)
{
	memset(e, 0, 32);
	memcpy(e, "\xfe\x80\0\0\0\0\0\0\0\x02\xc9\3\0\0\x12", 15);
	U8(e, 15) = 0x34 + index;
	U32(e, 16) = index;
	U32(e, 20) = 1;
}

int _ibv_query_gid_ex(void *ctx, uint32_t port, uint32_t index, char *e, uint32_t flags, size_t size)
{
	(void)ctx, (void)port, (void)flags, (void)size;
	if (index > 1)
		return ENODATA;
	gid(e, index);
	return 0;
}

ssize_t _ibv_query_gid_table(void *ctx, char *e, size_t max, uint32_t flags, size_t size)
{
	(void)ctx, (void)flags;
	size_t i;
	for (i = 0; i < max && i < 2; i++)
		gid(e + i * size, i);
	return i;
}

int ibv_query_pkey(void *ctx, uint8_t port, int index, uint8_t *key)
{
	(void)ctx, (void)port, (void)index;
	key[0] = key[1] = 0xff;
	return 0;
}

void *ibv_alloc_pd(void *ctx)
{
	char *pd = make(16);
	PTR(pd, 0) = ctx;
	return pd;
}

int ibv_dealloc_pd(void *pd) { return unmake(pd); }

void *ibv_reg_mr(void *pd, void *addr, size_t length, int access)
{
	dummy_access = access;
	if (length > 1 << 20) {
		errno = ENOMEM;
		return NULL;
	}
	char *mr = make(48);
	PTR(mr, 0) = PTR(pd, 0);
	PTR(mr, 8) = pd;
	PTR(mr, 16) = addr;
	U64(mr, 24) = length;
	U32(mr, 36) = 0x11;
	U32(mr, 40) = 0x22;
	return mr;
}

void *ibv_reg_mr_iova2(void *pd, void *addr, size_t length, uint64_t iova, unsigned access)
{
	(void)iova;
	return ibv_reg_mr(pd, addr, length, access);
}

int ibv_dereg_mr(void *mr) { return dummy_busy ? dummy_busy : unmake(mr); }

/* A channel's pipe is written to by the number after the one that is read. */
void *ibv_create_comp_channel(void *ctx)
{
	char *channel = make(16);
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		return NULL;
	PTR(channel, 0) = ctx;
	U32(channel, 8) = ends[0];
	U32(channel, 12) = ends[1];
	return channel;
}

int ibv_destroy_comp_channel(void *channel)
{
	close(U32(channel, 8));
	close(U32(channel, 12));
	return unmake(channel);
}

void *ibv_create_cq(void *ctx, int depth, void *user, void *channel, int vector)
{
	(void)user, (void)vector;
	char *cq = make(256 + sizeof(struct ring));
	PTR(cq, 0) = ctx;
	PTR(cq, 8) = channel;
	U32(cq, 28) = depth;
	return cq;
}

int ibv_destroy_cq(void *cq)
{
	if (RING(cq)->unacked)
		return EBUSY; /* the real one waits for ever */
	return unmake(cq);
}

int ibv_get_cq_event(void *channel, void **cq, void **user)
{
	char c;
	(void)cq, (void)user;
	return read(U32(channel, 8), &c, 1) == 1 ? 0 : -1;
}

void ibv_ack_cq_events(void *cq, unsigned n) { RING(cq)->unacked -= n - 1; }

void *ibv_create_qp(void *pd, char *a)
{
	static uint32_t number;
	if (U32(a, 48) > 200) {
		errno = EINVAL;
		return NULL;
	}
	char *qp = make(256);
	PTR(qp, 0) = PTR(pd, 0);
	PTR(qp, 16) = pd;
	PTR(qp, 24) = PTR(a, 8);
	PTR(qp, 32) = PTR(a, 16);
	PTR(qp, 40) = PTR(a, 24);
	U32(qp, 52) = 0x100 + number++;
	U32(qp, 60) = U32(a, 52);
	return qp;
}

int ibv_modify_qp(void *qp, void *a, int mask)
{
	memcpy(dummy_attr, a, sizeof(dummy_attr));
	dummy_mask = mask;
	U32(qp, 56) = U32(a, 0);
	return 0;
}

int ibv_query_qp(void *qp, void *a, int mask, void *init)
{
	(void)mask, (void)init;
	U32(a, 0) = U32(qp, 56);
	return 0;
}

int ibv_destroy_qp(void *qp) { return unmake(qp); }
int ibv_query_qp_data_in_order(void *qp, int op, uint32_t flags) { (void)qp; return op == 0 && flags == 0; }

void *ibv_create_srq(void *pd, void *a)
{
	char *srq = make(256);
	(void)a;
	PTR(srq, 0) = PTR(pd, 0);
	PTR(srq, 16) = pd;
	return srq;
}

int ibv_modify_srq(void *srq, void *a, int mask) { (void)srq, (void)a; return mask == 2 ? 0 : EINVAL; }
int ibv_destroy_srq(void *srq) { return unmake(srq); }

void *ibv_create_ah(void *pd, void *a)
{
	char *ah = make(64);
	PTR(ah, 0) = PTR(pd, 0);
	memcpy(dummy_attr, a, 32);
	return ah;
}

int ibv_destroy_ah(void *ah) { return unmake(ah); }
int ibv_attach_mcast(void *qp, void *group, uint16_t lid) { (void)qp, (void)group; return lid ? 0 : EINVAL; }
int ibv_detach_mcast(void *qp, void *group, uint16_t lid) { (void)qp, (void)group; return lid ? 0 : EINVAL; }

int ibv_get_async_event(void *ctx, void *event)
{
	ssize_t n = read(U32(ctx, 268), event, 16);
	if (n == 0)
		errno = EIO;
	return n == 16 ? 0 : -1;
}

void ibv_ack_async_event(void *event) { (void)event; }

/* dummy_event makes an event; a type of -1 has the device go away. */
int dummy_event(uintptr_t element, int type)
{
	char event[16] = { 0 };
	if (type < 0)
		return close(async_pipe[1]);
	PTR(event, 0) = (void *)element;
	U32(event, 8) = type;
	return write(async_pipe[1], event, 16) == 16 ? 0 : -1;
}

/* What a program in C does n times, to compare. */
void dummy_bench_send(void *qp, long n, void *addr)
{
	void *ctx = PTR(qp, 0);
	while (n--) {
		char wr[128] __attribute__((aligned(8))) = { 0 };
		char sge[16] __attribute__((aligned(8)));
		void *bad;
		PTR(sge, 0) = addr;
		U32(sge, 8) = 8;
		U32(sge, 12) = 0x11;
		U64(wr, 0) = n;
		PTR(wr, 16) = sge;
		U32(wr, 24) = 1;
		U64(wr, 40) = (uintptr_t)addr;
		U32(wr, 48) = 0x22;
		AT(int (*)(void *, void *, void **), ctx, 208)(qp, wr, &bad);
	}
}

void dummy_bench_recv(void *qp, long n, void *addr)
{
	void *ctx = PTR(qp, 0);
	while (n--) {
		char wr[32] __attribute__((aligned(8))) = { 0 };
		char sge[16] __attribute__((aligned(8)));
		void *bad;
		PTR(sge, 0) = addr;
		U32(sge, 8) = 8;
		U32(sge, 12) = 0x11;
		U64(wr, 0) = n;
		PTR(wr, 16) = sge;
		U32(wr, 24) = 1;
		AT(int (*)(void *, void *, void **), ctx, 216)(qp, wr, &bad);
	}
}

void dummy_bench_poll(void *cq, long n)
{
	void *ctx = PTR(cq, 0);
	while (n--) {
		char wc[48] __attribute__((aligned(8)));
		AT(int (*)(void *, int, void *), ctx, 96)(cq, 1, wc);
	}
}

void dummy_bench_arm(void *cq, long n)
{
	void *ctx = PTR(cq, 0);
	while (n--)
		AT(int (*)(void *, int), ctx, 104)(cq, 0);
}
