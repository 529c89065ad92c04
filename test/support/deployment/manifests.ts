import { validate as deployment } from 'kubernetes-models/_schemas/IoK8sApiAppsV1Deployment';
import { validate as statefulSet } from 'kubernetes-models/_schemas/IoK8sApiAppsV1StatefulSet';
import { validate as autoscaler } from 'kubernetes-models/_schemas/IoK8sApiAutoscalingV2HorizontalPodAutoscaler';
import { validate as configMap } from 'kubernetes-models/_schemas/IoK8sApiCoreV1ConfigMap';
import { validate as secret } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Secret';
import { validate as service } from 'kubernetes-models/_schemas/IoK8sApiCoreV1Service';
import { validate as serviceAccount } from 'kubernetes-models/_schemas/IoK8sApiCoreV1ServiceAccount';
import { validate as ingress } from 'kubernetes-models/_schemas/IoK8sApiNetworkingV1Ingress';
import { validate as networkPolicy } from 'kubernetes-models/_schemas/IoK8sApiNetworkingV1NetworkPolicy';
import { validate as disruptionBudget } from 'kubernetes-models/_schemas/IoK8sApiPolicyV1PodDisruptionBudget';

/** A Kubernetes object as a chart renders it. */
export type Manifest = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
  readonly stringData?: Readonly<Record<string, string>>;
  readonly spec?: Readonly<Record<string, unknown>>;
};

const VALIDATORS: Readonly<Record<string, (data: unknown) => boolean>> = {
  'apps/v1 Deployment': deployment,
  'apps/v1 StatefulSet': statefulSet,
  'autoscaling/v2 HorizontalPodAutoscaler': autoscaler,
  'networking.k8s.io/v1 Ingress': ingress,
  'networking.k8s.io/v1 NetworkPolicy': networkPolicy,
  'policy/v1 PodDisruptionBudget': disruptionBudget,
  'v1 ConfigMap': configMap,
  'v1 Secret': secret,
  'v1 Service': service,
  'v1 ServiceAccount': serviceAccount,
};

/**
 * Returns what the Kubernetes API would refuse in a manifest: values that its schema does not allow, and unknown fields.
 * The schemas are compiled to functions that ignore unknown fields, so these are found as those which a function does not
 * read.
 */
export function findManifestFaults(manifest: Manifest): string[] {
  const type = `${manifest.apiVersion} ${manifest.kind}`;
  const validate = VALIDATORS[type];
  if (validate === undefined) return [`there is no schema for ${type}`];
  const read = new Set<string>();
  const isValid = validate(watch(manifest, '', read));
  const errors: unknown = Reflect.get(validate, 'errors');
  const unknown = pathsOf(manifest, '').filter((path) => !read.has(path));
  return [...(isValid ? [] : [JSON.stringify(errors)]), ...unknown.map((path) => `${path} is an unknown field`)];
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** Returns an object that notes the paths of all fields that are read from it. */
const watch = (value: unknown, path: string, read: Set<string>): unknown =>
  isObject(value)
    ? new Proxy(value, {
        get(target, key) {
          const inner: unknown = Reflect.get(target, key);
          if (typeof key === 'symbol' || !Object.hasOwn(target, key)) return inner;
          read.add(`${path}/${key}`);
          return watch(inner, `${path}/${key}`, read);
        },
      })
    : value;

const pathsOf = (value: unknown, path: string): string[] =>
  isObject(value)
    ? Object.entries(value).flatMap(([key, inner]) => [`${path}/${key}`, ...pathsOf(inner, `${path}/${key}`)])
    : [];
